/*
 * The functions of the driver that the stub offers: CALL(name, needs, parameters), where `needs`
 * is what the published manual demands of the caller:
 *   NOTHING      it always works;
 *   STARTED      cuInit was called;
 *   CURRENT      the thread has a current context as well, and that has no error;
 *   UNCAPTURED   also, the call is unsafe while a stream capture is under way.
 */
CALL(cuInit, NOTHING, (unsigned flags))
CALL(cuDriverGetVersion, NOTHING, (int *version))
CALL(cuGetErrorName, NOTHING, (CUresult error, const char **text))
CALL(cuGetErrorString, NOTHING, (CUresult error, const char **text))
CALL(cuGetProcAddress_v2, NOTHING, (const char *symbol, void **function, int version,
     cuuint64_t flags, CUdriverProcAddressQueryResult *status))

CALL(cuDeviceGet, STARTED, (CUdevice *device, int ordinal))
CALL(cuDeviceGetCount, STARTED, (int *count))
CALL(cuDeviceGetName, STARTED, (char *name, int length, CUdevice device))
CALL(cuDeviceGetAttribute, STARTED, (int *value, CUdevice_attribute attribute, CUdevice device))
CALL(cuDeviceGetUuid, STARTED, (CUuuid *uuid, CUdevice device))
CALL(cuDeviceGetUuid_v2, STARTED, (CUuuid *uuid, CUdevice device))
CALL(cuDeviceGetPCIBusId, STARTED, (char *text, int length, CUdevice device))
CALL(cuDeviceTotalMem_v2, STARTED, (size_t *bytes, CUdevice device))
CALL(cuDeviceCanAccessPeer, STARTED, (int *can, CUdevice device, CUdevice peer))
CALL(cuDevicePrimaryCtxGetState, STARTED, (CUdevice device, unsigned *flags, int *active))
CALL(cuDevicePrimaryCtxRetain, STARTED, (CUcontext *context, CUdevice device))
CALL(cuDevicePrimaryCtxRelease_v2, STARTED, (CUdevice device))

CALL(cuCtxGetCurrent, STARTED, (CUcontext *context))
CALL(cuCtxSetCurrent, STARTED, (CUcontext context))
CALL(cuCtxPushCurrent_v2, STARTED, (CUcontext context))
CALL(cuCtxPopCurrent_v2, STARTED, (CUcontext *context))
CALL(cuCtxGetDevice, CURRENT, (CUdevice *device))
CALL(cuCtxCreate_v2, STARTED, (CUcontext *context, unsigned flags, CUdevice device))
CALL(cuCtxDestroy_v2, STARTED, (CUcontext context))
CALL(cuCtxEnablePeerAccess, CURRENT, (CUcontext peer, unsigned flags))
CALL(cuCtxSynchronize, UNCAPTURED, (void))

CALL(cuPointerGetAttribute, STARTED, (void *data, CUpointer_attribute attribute, CUdeviceptr at))
CALL(cuPointerGetAttributes, STARTED,
     (unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr at))
CALL(cuPointerSetAttribute, STARTED,
     (const void *value, CUpointer_attribute attribute, CUdeviceptr at))
CALL(cuMemGetAddressRange_v2, CURRENT, (CUdeviceptr *base, size_t *size, CUdeviceptr at))

CALL(cuMemAlloc_v2, UNCAPTURED, (CUdeviceptr *address, size_t size))
CALL(cuMemFree_v2, UNCAPTURED, (CUdeviceptr address))
CALL(cuMemAllocManaged, UNCAPTURED, (CUdeviceptr *address, size_t size, unsigned flags))
CALL(cuMemHostAlloc, UNCAPTURED, (void **address, size_t size, unsigned flags))
CALL(cuMemFreeHost, UNCAPTURED, (void *address))
CALL(cuMemHostRegister_v2, UNCAPTURED, (void *address, size_t size, unsigned flags))
CALL(cuMemHostUnregister, UNCAPTURED, (void *address))
CALL(cuMemHostGetDevicePointer_v2, CURRENT, (CUdeviceptr *device, void *host, unsigned flags))
CALL(cuMemAllocAsync, CURRENT, (CUdeviceptr *address, size_t size, CUstream stream))
CALL(cuMemFreeAsync, CURRENT, (CUdeviceptr address, CUstream stream))
CALL(cuMemPoolCreate, STARTED, (CUmemoryPool *pool, const CUmemPoolProps *properties))
CALL(cuMemPoolDestroy, STARTED, (CUmemoryPool pool))
CALL(cuMemAllocFromPoolAsync, CURRENT,
     (CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream stream))
CALL(cuMemPoolExportToShareableHandle, STARTED, (void *handle, CUmemoryPool pool,
     CUmemAllocationHandleType type, unsigned long long flags))
CALL(cuMemPoolImportFromShareableHandle, STARTED, (CUmemoryPool *pool, void *handle,
     CUmemAllocationHandleType type, unsigned long long flags))
CALL(cuMemPoolExportPointer, STARTED, (CUmemPoolPtrExportData *data, CUdeviceptr address))
CALL(cuMemPoolImportPointer, CURRENT,
     (CUdeviceptr *address, CUmemoryPool pool, CUmemPoolPtrExportData *data))

CALL(cuMemGetAllocationGranularity, STARTED, (size_t *granularity,
     const CUmemAllocationProp *properties, CUmemAllocationGranularity_flags option))
CALL(cuMemAddressReserve, STARTED, (CUdeviceptr *address, size_t size, size_t alignment,
     CUdeviceptr wanted, unsigned long long flags))
CALL(cuMemAddressFree, STARTED, (CUdeviceptr address, size_t size))
CALL(cuMemCreate, STARTED, (CUmemGenericAllocationHandle *handle, size_t size,
     const CUmemAllocationProp *properties, unsigned long long flags))
CALL(cuMemRelease, STARTED, (CUmemGenericAllocationHandle handle))
CALL(cuMemMap, STARTED, (CUdeviceptr address, size_t size, size_t offset,
     CUmemGenericAllocationHandle handle, unsigned long long flags))
CALL(cuMemUnmap, STARTED, (CUdeviceptr address, size_t size))
CALL(cuMemSetAccess, STARTED,
     (CUdeviceptr address, size_t size, const CUmemAccessDesc *access, size_t count))
CALL(cuMemRetainAllocationHandle, STARTED,
     (CUmemGenericAllocationHandle *handle, void *address))
CALL(cuMemExportToShareableHandle, STARTED, (void *shareable, CUmemGenericAllocationHandle handle,
     CUmemAllocationHandleType type, unsigned long long flags))
CALL(cuMemImportFromShareableHandle, STARTED, (CUmemGenericAllocationHandle *handle,
     void *shareable, CUmemAllocationHandleType type))

CALL(cuMemcpy, UNCAPTURED, (CUdeviceptr to, CUdeviceptr from, size_t size))
CALL(cuMemcpyHtoD_v2, UNCAPTURED, (CUdeviceptr to, const void *from, size_t size))
CALL(cuMemcpyDtoH_v2, UNCAPTURED, (void *to, CUdeviceptr from, size_t size))
CALL(cuMemcpyDtoD_v2, UNCAPTURED, (CUdeviceptr to, CUdeviceptr from, size_t size))
CALL(cuMemcpyAsync, CURRENT, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream))
CALL(cuMemcpyHtoDAsync_v2, CURRENT,
     (CUdeviceptr to, const void *from, size_t size, CUstream stream))
CALL(cuMemcpyDtoHAsync_v2, CURRENT, (void *to, CUdeviceptr from, size_t size, CUstream stream))
CALL(cuMemcpyDtoDAsync_v2, CURRENT,
     (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream))
CALL(cuMemcpy2D_v2, UNCAPTURED, (const CUDA_MEMCPY2D *copy))
CALL(cuMemcpy2DAsync_v2, CURRENT, (const CUDA_MEMCPY2D *copy, CUstream stream))
CALL(cuMemsetD8_v2, UNCAPTURED, (CUdeviceptr to, unsigned char value, size_t size))
CALL(cuMemsetD8Async, CURRENT,
     (CUdeviceptr to, unsigned char value, size_t size, CUstream stream))

CALL(cuStreamCreate, CURRENT, (CUstream *stream, unsigned flags))
CALL(cuStreamCreateWithPriority, CURRENT, (CUstream *stream, unsigned flags, int priority))
CALL(cuStreamDestroy_v2, CURRENT, (CUstream stream))
CALL(cuStreamSynchronize, CURRENT, (CUstream stream))
CALL(cuStreamQuery, CURRENT, (CUstream stream))
CALL(cuStreamWaitEvent, CURRENT, (CUstream stream, CUevent event, unsigned flags))
CALL(cuStreamWriteValue32_v2, CURRENT,
     (CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned flags))
CALL(cuLaunchHostFunc, CURRENT, (CUstream stream, CUhostFn function, void *data))
CALL(cuEventCreate, CURRENT, (CUevent *event, unsigned flags))
CALL(cuEventRecord, CURRENT, (CUevent event, CUstream stream))
CALL(cuEventQuery, STARTED, (CUevent event))
CALL(cuEventSynchronize, STARTED, (CUevent event))
CALL(cuEventDestroy_v2, STARTED, (CUevent event))
CALL(cuEventElapsedTime, STARTED, (float *milliseconds, CUevent from, CUevent to))

CALL(cuThreadExchangeStreamCaptureMode, STARTED, (CUstreamCaptureMode *mode))
CALL(cuStreamIsCapturing, CURRENT, (CUstream stream, CUstreamCaptureStatus *status))
CALL(cuStreamBeginCapture_v2, CURRENT, (CUstream stream, CUstreamCaptureMode mode))
CALL(cuStreamEndCapture, CURRENT, (CUstream stream, CUgraph *graph))

CALL(cuModuleLoadData, UNCAPTURED, (CUmodule *module, const void *image))
CALL(cuModuleLoadDataEx, UNCAPTURED, (CUmodule *module, const void *image, unsigned count,
     CUjit_option *options, void **values))
CALL(cuModuleUnload, UNCAPTURED, (CUmodule module))
CALL(cuModuleGetFunction, CURRENT, (CUfunction *function, CUmodule module, const char *name))
CALL(cuFuncGetAttribute, CURRENT,
     (int *value, CUfunction_attribute attribute, CUfunction function))
CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, CURRENT,
     (int *blocks, CUfunction function, int threads, size_t shared))
CALL(cuLaunchKernel, CURRENT, (CUfunction function, unsigned grid_x, unsigned grid_y,
     unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
     CUstream stream, void **parameters, void **extra))

CALL(cuIpcGetMemHandle, CURRENT, (CUipcMemHandle *handle, CUdeviceptr address))
CALL(cuIpcOpenMemHandle_v2, UNCAPTURED,
     (CUdeviceptr *address, CUipcMemHandle handle, unsigned flags))
CALL(cuIpcCloseMemHandle, UNCAPTURED, (CUdeviceptr address))
