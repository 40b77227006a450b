/* Captures of legs: twins of capture/pcap.py, capture/framing.py and real/element/captures.py, which have the rules.
 * Python has opened the files and written their headers. Records are kept here until the verdicts are out. */
#ifndef MINITOPO_CAPTURE_H
#define MINITOPO_CAPTURE_H

#include <stdint.h>

#include "../base/declared.h"

#define FORM_ROOM 64

/* How a bearer's PDUs on a leg are written: behind `start`, the headers and tags of an outer datagram; or, where
 * that has no bytes, with the number behind the SDU. */
typedef struct {
    uint8_t start[FORM_ROOM];
    int length, number_bytes;
} capture_form;

void capture_packet(capture *self, const uint8_t *ip, int length, int64_t now);
/* One with its number behind; what is no PDU, or has no room for what is before it, is written as it is. */
void capture_pdu(capture *self, const capture_form *form, const uint8_t *ip, int length, int64_t now);
/* Write what has come together, where it is worth a call: to be done behind the verdicts. */
void captures_write(element *of);

#endif
