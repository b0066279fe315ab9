"""Pictures of a module: its tasks and dependencies as text for Graphviz or Mermaid, as SVG, or as a page with memory and lifetimes."""
