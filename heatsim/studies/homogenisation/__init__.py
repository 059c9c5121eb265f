"""The effective conductivity of a medium that an image shows: `heatsim effective`, `heatsim.effective`.

media         the labels of an image as a medium: what each phase conducts, and which of it takes part
conductivity  the heat through it along each axis, with bounds on its error; cubes of growing size
devices       where that is solved, and memory for it
fluxes        the flux in voxels, and streamlines
files         what the command keeps: numbers and pictures
"""
