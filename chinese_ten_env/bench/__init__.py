"""What `chinese-ten bench` measures, and how."""
