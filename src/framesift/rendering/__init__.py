"""Rendering of selections: frames with text, contact sheet, report, export files."""
