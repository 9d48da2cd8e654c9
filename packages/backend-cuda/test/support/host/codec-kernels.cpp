// General kernels with codecs, as functions of the host. codecs.cuh is what a card's compiler would get.
#include <math.h>
#include <string.h>

#define __device__
#include "codecs.cuh"

#include "general-attend.cpp"
#include "general.cpp"
