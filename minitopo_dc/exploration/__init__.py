"""Two legs under sliders: what DC and MP-QUIC make of them, at once after each change."""
