#include "client/memory.h"

#include <malloc.h>

namespace tokendraw {

void KeepFreedMemory() {
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
}

}  // namespace tokendraw
