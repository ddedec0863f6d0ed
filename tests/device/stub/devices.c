/*
 * Devices: TOWPATH_STUB_DEVICES of them (1) in the machine, of which CUDA_VISIBLE_DEVICES shows
 * some to this process, by numbers or UUIDs. Other settings:
 *
 *   TOWPATH_STUB_MEMORY=BYTES       of each device (8 GiB)
 *   TOWPATH_STUB_CAPABILITY=90      compute capability, times ten
 *   TOWPATH_STUB_PEER_ACCESS=0      no device reaches another one's memory
 *   TOWPATH_STUB_EXCLUSIVE=1        a device serves one process at a time
 */
#define _GNU_SOURCE
#include "stub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MOST_DEVICES = 16, PROCESSORS = 4, THREADS = 1024 };

/* Numbers that all processes share, by the numbers of this one. */
static int shown[MOST_DEVICES], shown_count;

static int machine_devices(void)
{
    unsigned long devices = setting("TOWPATH_STUB_DEVICES", 1);
    return devices > MOST_DEVICES ? MOST_DEVICES : (int)devices;
}

static void set_uuid(int shared, unsigned char *bytes)
{
    for (int place = 0; place < 16; place++) bytes[place] = (unsigned char)(17 * place + 1);
    bytes[15] = (unsigned char)shared;
}

/* The device that a word of CUDA_VISIBLE_DEVICES names, or -1. */
static int named_device(const char *word, size_t length)
{
    if (length > 4 && memcmp(word, "GPU-", 4) == 0) {
        for (int shared = 0; shared < machine_devices(); shared++) {
            unsigned char bytes[16];
            char text[48];
            set_uuid(shared, bytes);
            int used = snprintf(text, sizeof text, "GPU-");
            for (int place = 0; place < 16; place++) {
                bool dash = place == 4 || place == 6 || place == 8 || place == 10;
                used += snprintf(text + used, sizeof text - used, "%s%02x", dash ? "-" : "",
                                 bytes[place]);
            }
            if (strncmp(text, word, length) == 0) return shared;
        }
        return -1;
    }
    char *end;
    long number = strtol(word, &end, 10);
    return end == word + length && number >= 0 && number < machine_devices() ? (int)number : -1;
}

void find_devices(void)
{
    const char *word = getenv("CUDA_VISIBLE_DEVICES");
    if (!word) {
        for (; shown_count < machine_devices(); shown_count++) shown[shown_count] = shown_count;
        return;
    }
    /* The first word that names no device ends the list. */
    while (shown_count < MOST_DEVICES) {
        size_t length = strcspn(word, ",");
        int shared = length ? named_device(word, length) : -1;
        if (shared < 0) return;
        shown[shown_count++] = shared;
        if (!word[length]) return;
        word += length + 1;
    }
}

int device_count(void) { return shown_count; }
bool valid_device(CUdevice device) { return device >= 0 && device < shown_count; }
int shared_number(CUdevice device) { return shown[device]; }

bool visible(int shared)
{
    for (int device = 0; device < shown_count; device++)
        if (shown[device] == shared) return true;
    return false;
}

bool peers(int shared, int other)
{
    return shared == other || setting("TOWPATH_STUB_PEER_ACCESS", 1);
}

size_t device_memory(void) { return setting("TOWPATH_STUB_MEMORY", 8ul << 30); }

static struct {
    unsigned contexts;
    int socket;
} claims[MOST_DEVICES];

/* A name that only one socket of the machine can have. */
static int bind_name(int shared)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int length = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "towpath-stub-%d-%d",
                          getuid(), shared);
    int found = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    size_t size = offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length;
    if (found < 0 || bind(found, (struct sockaddr *)&name, (socklen_t)size) == 0) return found;
    close(found);
    return -1;
}

bool claim_device(CUdevice device)
{
    if (!setting("TOWPATH_STUB_EXCLUSIVE", 0)) return true;
    if (!claims[device].contexts) {
        claims[device].socket = bind_name(shown[device]);
        if (claims[device].socket < 0) return false;
    }
    claims[device].contexts++;
    return true;
}

void release_device(CUdevice device)
{
    if (claims[device].contexts && --claims[device].contexts == 0) close(claims[device].socket);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    ENTER(cuDeviceGet);
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    if (!valid_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *count)
{
    ENTER(cuDeviceGetCount);
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = shown_count;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int length, CUdevice device)
{
    ENTER(cuDeviceGetName);
    if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    if (!name || length < 1) return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)length, "Towpath stub device %d", shown[device]);
    return CUDA_SUCCESS;
}

static CUresult get_uuid(CUuuid *uuid, CUdevice device)
{
    if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    if (!uuid) return CUDA_ERROR_INVALID_VALUE;
    set_uuid(shown[device], (unsigned char *)uuid->bytes);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
    ENTER(cuDeviceGetUuid);
    return get_uuid(uuid, device);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    ENTER(cuDeviceGetUuid_v2);
    return get_uuid(uuid, device);
}

CUresult cuDeviceGetPCIBusId(char *text, int length, CUdevice device)
{
    ENTER(cuDeviceGetPCIBusId);
    if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    if (!text || length < 1) return CUDA_ERROR_INVALID_VALUE;
    snprintf(text, (size_t)length, "0000:%02X:00.0", shown[device] + 1);
    return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    ENTER(cuDeviceTotalMem_v2);
    if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    *bytes = device_memory();
    return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    ENTER(cuDeviceCanAccessPeer);
    if (!valid_device(device) || !valid_device(peer)) return CUDA_ERROR_INVALID_DEVICE;
    if (!can) return CUDA_ERROR_INVALID_VALUE;
    *can = device != peer && peers(shown[device], shown[peer]);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    ENTER(cuDeviceGetAttribute);
    if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    int capability = (int)setting("TOWPATH_STUB_CAPABILITY", 90);
    switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X: *value = THREADS; break;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *value = INT32_MAX; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *value = 32; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = PROCESSORS; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *value = 2 * THREADS; break;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: *value = 3; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
        *value = setting("TOWPATH_STUB_EXCLUSIVE", 0) ? CU_COMPUTEMODE_EXCLUSIVE_PROCESS
                                                      : CU_COMPUTEMODE_DEFAULT;
        break;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: *value = shown[device] + 1; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = capability / 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = capability % 10; break;
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED: *value = 1; break;
    default: *value = 0;
    }
    return CUDA_SUCCESS;
}
