"""The effective conductivity of a medium that an image shows: `heatsim effective`, `heatsim.effective`.

media         the labels of an image as a medium: what each phase conducts, and which of it takes part
conductivity  the heat through it along each axis, with bounds on its error
devices       where that is solved, and memory for it
parts         how it depends on the size of the part that is looked at
fluxes        the flux in voxels, and streamlines
pictures      the flux on planes, and the parts
files         what the command keeps
"""
