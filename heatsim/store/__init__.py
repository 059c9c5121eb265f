"""The run folder, its file formats, and arrays from a user's files; the only code that opens HDF5."""
