"""Two legs under sliders: what DC and MP-QUIC make of them, a second after each change."""
