"""One HTML page that shows a run: sections, a volume, probes; no network, nothing to install."""
