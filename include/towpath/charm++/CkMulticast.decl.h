// What the module of the library for sections declares.
#ifndef TOWPATH_CHARM_CKMULTICAST_DECL_H
#define TOWPATH_CHARM_CKMULTICAST_DECL_H

#include "sections.h"

inline void _registerCkMulticast() {}

#endif
