"""What a router host (gnb, ue) does with packets and keeps of them, the same on both clocks."""
