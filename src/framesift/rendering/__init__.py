"""What a reader or a person sees: frames with their text, a contact sheet, a report, export files."""
