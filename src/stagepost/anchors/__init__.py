"""The anchors: each file an adapter of the port `stagepost.anchor`."""
