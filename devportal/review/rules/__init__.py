"""What a review is: its states, reasons, conflicts of interest, target times, snapshots, timeline and notices."""
