// The interface of Charm++ on Towpath's message-driven objects: what programs include. The
// translator towpath-charmc makes the rest out of their interface files.
#ifndef TOWPATH_CHARM_H
#define TOWPATH_CHARM_H

#include "idle.h"
#include "pup.h"
#include "runtime.h"
#include "sections.h"
#include "start.h"
#include "steps.h"
#include "vectors.h"

#endif
