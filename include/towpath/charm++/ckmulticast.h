// Sections, by the name that the header of their library has in Charm++.
#ifndef TOWPATH_CHARM_CKMULTICAST_H
#define TOWPATH_CHARM_CKMULTICAST_H

#include "sections.h"

#endif
