/* The driver's calls that the probe finds at run time. */
#ifndef TOWPATH_DEVICE_PROBE_CALLS_H
#define TOWPATH_DEVICE_PROBE_CALLS_H

#define CALLS(X) \
    X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuDeviceGet) X(cuDeviceGetName) \
    X(cuDeviceGetAttribute) X(cuDeviceTotalMem) X(cuDevicePrimaryCtxRetain) \
    X(cuDevicePrimaryCtxGetState) X(cuCtxSetCurrent) X(cuCtxPushCurrent) X(cuCtxPopCurrent) \
    X(cuCtxGetCurrent) X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunction) \
    X(cuLaunchKernel) X(cuStreamCreate) X(cuStreamSynchronize) X(cuStreamQuery) \
    X(cuStreamWaitEvent) X(cuStreamWriteValue32) X(cuEventCreate) X(cuEventDestroy) \
    X(cuEventRecord) X(cuEventQuery) X(cuMemGetInfo) X(cuMemAlloc) X(cuMemFree) \
    X(cuMemAllocHost) X(cuMemFreeHost) X(cuMemAllocManaged) X(cuMemcpyDtoH) X(cuMemcpyHtoD) \
    X(cuMemcpyDtoHAsync) X(cuMemcpyHtoDAsync) X(cuMemcpyDtoDAsync) X(cuMemHostRegister) \
    X(cuMemHostUnregister) X(cuMemHostGetDevicePointer) X(cuPointerGetAttribute) \
    X(cuPointerGetAttributes) X(cuPointerSetAttribute) X(cuMemGetAddressRange) \
    X(cuIpcGetMemHandle) X(cuIpcOpenMemHandle) X(cuIpcCloseMemHandle) X(cuIpcGetEventHandle) \
    X(cuIpcOpenEventHandle) X(cuMemAllocAsync) X(cuMemFreeAsync) X(cuMemPoolCreate) \
    X(cuMemPoolExportToShareableHandle) X(cuMemPoolImportFromShareableHandle) \
    X(cuMemAllocFromPoolAsync) X(cuMemPoolExportPointer) X(cuMemPoolImportPointer) \
    X(cuMemGetAllocationGranularity) X(cuMemCreate) X(cuMemRelease) X(cuMemAddressReserve) \
    X(cuMemMap) X(cuMemUnmap) X(cuMemSetAccess) X(cuMemExportToShareableHandle) \
    X(cuMemImportFromShareableHandle) X(cuMemRetainAllocationHandle) \
    X(cuMemGetAllocationPropertiesFromHandle) X(cuMemGetHandleForAddressRange)

#endif
