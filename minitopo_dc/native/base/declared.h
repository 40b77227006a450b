/* `native.h` once: cffi, which reads it too, knows no preprocessor. */
#ifndef MINITOPO_DECLARED_H
#define MINITOPO_DECLARED_H

#include <stddef.h>
#include <stdint.h>

#include "../native.h"

#endif
