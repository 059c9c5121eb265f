"""The tables of docs/guide/chips.md say what becomes of each key and line of HotSpot and 3D-ICE: each is tried."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.chip_files import (
    CONFIG,
    ICE_LAYOUT,
    ICE_PLAN,
    ICE_STACK,
    LAYERS,
    MATERIALS,
    PACKAGE,
    PLAN,
    START,
    TRACE,
)

from heatsim.errors import HeatsimError
from heatsim.problem.shapes.floorplans import ELEMENT, read_plan
from heatsim.studies.imports import hotspot_configuration as keys
from heatsim.studies.imports.hotspot import HotspotFiles, import_hotspot
from heatsim.studies.imports.hotspot_package import PACKAGE_CHOICES, PACKAGE_DEFAULTS
from heatsim.studies.imports.three_d_ice import import_stack
from heatsim.studies.imports.three_d_ice_files import GRAMMAR, REFUSED, REPEATED

PAGE = (Path(__file__).parents[2] / "docs/guide/chips.md").read_text(encoding="utf-8")
WORDS = ("read", "told", "refused", "not needed")
Outcome = tuple[object, ...]


def rows(heading: str) -> list[list[str]]:
    """The rows of the table below a heading, cells as they stand; what is in backticks is the key or the line."""
    text = PAGE.partition(f"\n### {heading}\n")[2].partition("\n#")[0]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in text.splitlines() if line[:3] == "| `"]


def said(cell: str) -> str:
    """What a row says becomes of it."""
    return next(word for word in WORDS if cell.startswith(word))


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _told(base: Outcome, made: Outcome) -> str:
    """What became of a change of files, by what an import made of them before and after it."""
    if isinstance(made[0], str):
        return "refused"
    if made[:2] != base[:2]:
        return "read"
    return "told" if made[2] != base[2] else "not needed"


def hotspot(file: str = "chip.flp", **texts: str) -> Outcome:
    given = {
        "chip.flp": PLAN,
        "chip.ptrace": TRACE,
        "chip.config": CONFIG,
        "m.materials": MATERIALS,
        "package.config": PACKAGE,
        "chip.lcf": LAYERS,
        "a.init": START,
    }
    for name, text in given.items():
        Path(name).write_text(texts.get(name.replace(".", "_"), text))
    try:
        made = import_hotspot(HotspotFiles(Path(file), Path("chip.ptrace"), Path("chip.config")), Path("t.toml"), 4)
    except HeatsimError as error:
        return (str(error),)
    return (made.document, made.start), made.powers, made.notes


VALUES = {
    "materials_file": "none.materials", "package_config_file": "package.config", "init_file": "a.init",
    "grid_layer_file": "a.lcf", "detailed_3d": "on", "l2_label": "L3", "model_type": "grid", "f": "a", "p": "a",
    "o": "a", "c": "a", "d": "a", "steady_file": "a", "grid_steady_file": "a", "grid_transient_file": "a",
    "network_file": "a", "grid_map_mode": "avg", "coolant_material": "water", "wall_material": "silicon",
}  # fmt: skip


# What else a configuration says where a key is tried.
NEEDS = {
    **dict.fromkeys(keys.SECONDARY_DEFAULTS, "-model_secondary 1\n"),
    **dict.fromkeys(keys.MATERIAL_KEYS, "-materials_file m.materials\n"),
    "leakage_mode": "-leakage_used 1\n",
    "package_config_file": "-package_model_used 1\n",
}


def test_each_key_of_a_configuration_ends_as_its_table_says() -> None:
    known = {*keys.DEFAULTS, *keys.SECONDARY_DEFAULTS, *keys.REFUSED, *keys.LEFT_OUT, *keys.MATERIAL_KEYS}
    known |= {*keys.TEXTS, *keys.WITHOUT_EFFECT}
    listed = {
        key: said(cell) for names, cell in rows("HotSpot: configuration") for key in re.findall(r"`(\w+)`", names)
    }
    assert {*listed} == known
    own_plan = PLAN.replace("0.000\t0.000\n", "0.000\t0.000 2e6 0.02\n", 1)
    for key, expected in listed.items():
        config = re.sub(rf"(?m)^ *-({key}|model_secondary) .*\n", "", CONFIG) + NEEDS.get(key, "")
        stack, plan = ("chip.lcf", own_plan) if key == "detailed_3d" else ("chip.flp", PLAN)
        usual = {"s_spreader": "0.025", "t": "0.0123", "k": "12.3", "p": "1.23e6", "s": "0.035"}
        value = VALUES.get(key) or usual.get(key) or usual.get(key.split("_")[0], "2" if key[0] == "r" else "1")
        value = "silicon" if key in keys.MATERIAL_KEYS else value
        base = hotspot(stack, chip_config=config, chip_flp=plan)
        made = hotspot(stack, chip_config=f"{config}-{key} {value}\n", chip_flp=plan)
        if key == "materials_file":  # what is named and not there is refused: so it is read
            assert "none.materials: cannot be read" in str(made[0])
            continue
        assert (key, _told(base, made)) == (key, expected), made
    assert _told(hotspot(), hotspot(chip_config=CONFIG + "-t_chips 1\n")) == "told"


def test_each_key_of_a_package_is_read() -> None:
    listed = {key for names, cell in rows("HotSpot: package") for key in re.findall(r"`(\w+)`", names)}
    assert listed == {*PACKAGE_DEFAULTS}
    assert {said(cell) for _, cell in rows("HotSpot: package")} == {"read"}
    config = CONFIG + "-package_model_used 1\n-package_config_file package.config\n"
    for key in listed:
        bases = [f"-sink_type {kind}\n-flow_type 0\n" for kind in (0, 1)]
        value = "1" if key in PACKAGE_CHOICES else f"{1.1 * PACKAGE_DEFAULTS[key]}"
        ends = [
            _told(
                hotspot(chip_config=config, package_config=base),
                hotspot(chip_config=config, package_config=f"-{key} {value}\n{base}"),
            )
            for base in bases
        ]
        assert "read" in ends, key
    assert isinstance(hotspot(chip_config=config, package_config="-sink_type 2\n")[0], str)


NAMED = LAYERS.replace("1.6e6\n0.01\n", "aluminum\n")
# Of each row the file, a text, and what the line takes the place of there.
STAND_INS = [
    ("chip_flp", PLAN.replace("core\t0.004\t0.010", "core\t0.004\t0.009"), "core\t0.*"),
    ("chip_flp", PLAN, "core\t0.*"),
    ("chip_flp", PLAN, "core cache 1.0"),
    ("chip_flp", PLAN, "# name.*"),
    ("chip_flp", PLAN, "core\t0.*"),
    ("chip_ptrace", "cache core\n1 2\n", "cache core"),
    ("chip_ptrace", "core cache\n1 2\n", "1 2"),
    ("chip_lcf", LAYERS.replace("\n1\n", "\n7\n"), "7"),
    ("chip_lcf", LAYERS, "N(?=\nN)"),
    ("chip_lcf", LAYERS, "1.6e6"),
    ("chip_lcf", NAMED, "aluminum"),
    ("chip_lcf", LAYERS, "0.0002"),
    ("chip_lcf", LAYERS.replace("chip.flp", "other.flp", 1), "other.flp"),
    ("chip_lcf", LAYERS, "chip.flp"),
    ("m_materials", MATERIALS.replace("silicon", "silicium"), "silicium"),
    ("m_materials", MATERIALS.replace("solid", "gas", 1), "gas"),
    ("m_materials", MATERIALS.replace("130.0", "131.0"), "131.0"),
    ("a_init", START, "core 310.0"),
]


def test_each_line_of_hotspots_other_files_ends_as_its_table_says() -> None:
    listed = rows("HotSpot: lines of other files")
    for (_, line, cell), (name, text, stands) in zip(listed, STAND_INS, strict=True):
        config = CONFIG + "-materials_file m.materials\n"
        config += {"m_materials": "-material_chip silicon\n", "a_init": "-init_file a.init\n"}.get(name, "")
        stack, new = "chip.lcf" if name == "chip_lcf" else "chip.flp", line.strip("`")
        base = hotspot(stack, chip_config=config, **{name: text})
        made = hotspot(stack, chip_config=config, **{name: re.sub(f"(?m)^{stands}", new, text, count=1)})
        assert (line, _told(base, made)) == (line, said(cell)), (base, made)


def ice(stack: str, plan: str = ICE_PLAN) -> Outcome:
    for name, text in {"chip.stk": stack, "plan.flp": plan, "bond.lay": ICE_LAYOUT}.items():
        Path(name).write_text(text)
    try:
        made = import_stack(Path("chip.stk"), Path("t.toml"))
    except HeatsimError as error:
        return (str(error),)
    return (made.document, read_plan(Path("plan.flp")).blocks), made.powers, made.notes


HEADS = {"heat sink": "top heat sink", "material": "material SILICON", "layer": "layer BOND", "die": "die TOP"}
SPREADER = "spreader length 5000, width 4000, height 1000 ;\n material BEOL ;\n"


def _canonical(line: str) -> str:
    """A statement as it is matched: a space on both sides of marks."""
    return " ".join(re.sub(r"([(),])", r" \1 ", line).split())


def _with(section: str, line: str) -> tuple[str, str]:
    """A stack and its floorplan with a statement in its section, in place of the one of its kind, if there is one."""
    if section == "floorplan":
        first = ICE_PLAN.index(":") + 1
        own = [each for each in ICE_PLAN[first : ICE_PLAN.index("\n")].split(";") if each.strip()]
        places = ("position", "dimension") if line.startswith("rectangle") else (line.split()[0],)
        rest = [each for each in own if not each.strip().startswith(places)]
        return ICE_STACK, f"A : {line} ; {';'.join(rest)} ;{ICE_PLAN[ICE_PLAN.index(chr(10)) :]}"
    if section in REFUSED:
        return ICE_STACK.replace("layer BOND :", f"{section} 4rm :\n   {line} ;\nlayer BOND :"), ICE_PLAN
    start = ICE_STACK.index("\n", f"\n{ICE_STACK}".index(f"\n{HEADS.get(section, section)}"))
    following = re.search(r"\n\w[^;\n]*:", ICE_STACK[start:])
    end = start + following.start() if following else len(ICE_STACK)
    said = [each.strip() for each in re.sub(r"//.*", "", ICE_STACK[start:end]).split(";") if each.strip()]
    if section not in REPEATED:
        group = {"steady": ("steady", "transient"), "transient": ("steady", "transient")}
        key = next(key for key, pattern in GRAMMAR[section].items() if re.fullmatch(pattern, _canonical(line)))
        patterns = [GRAMMAR[section][each] for each in group.get(key, (key,))]
        said = [each for each in said if not any(re.fullmatch(pattern, _canonical(each)) for pattern in patterns)]
    if section == "heat sink" and line.startswith(("spreader length", "material")):
        said += [each.strip() for each in SPREADER.split(";") if each.strip() and each.split()[0] != line.split()[0]]
    body = "".join(f"\n   {each} ;" for each in [*said, line])
    return ICE_STACK[:start] + body + ICE_STACK[end:], ICE_PLAN


def test_each_statement_of_3d_ice_ends_as_its_table_says() -> None:
    listed = [[*(cell.strip("`") for cell in row[:2]), row[2]] for row in rows("3D-ICE: stack")]
    assert {section for section, *_ in listed} == {*GRAMMAR, *REFUSED, "floorplan"} - {"channel"}
    for section, patterns in {**GRAMMAR, "floorplan": {key: each.pattern for key, each in ELEMENT.items()}}.items():
        own = [_canonical(line) for name, line, _ in listed if name == section]
        for key, pattern in patterns.items():
            assert any(re.fullmatch(pattern, line) for line in own), (section, key)
    base = ice(ICE_STACK)
    for section, line, cell in listed:
        stack, plan = _with(section, line)
        assert (section, line, _told(base, ice(stack, plan))) == (section, line, said(cell)), ice(stack, plan)
        wrong = _with(section, line)[0 if section != "floorplan" else 1].replace(line, f"{line} extra")
        if section not in REFUSED:  # what the grammar has not is refused wherever it stands
            assert "extra" in str(ice(wrong)[0] if section != "floorplan" else ice(ICE_STACK, wrong)[0]), line
