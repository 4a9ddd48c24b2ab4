/* A stand-in for the driver's library, for tests of what reads it. Its answers are read again at each call from the file that BYSTANDER_STUB_NVML names:
 *
 *   gpu TOTAL_BYTES HELD_BYTES [RESERVED_BYTES]     one line a GPU, in the order of their indices
 *   process GPU_INDEX PID BYTES                     BYTES of -1: not told
 *   silent GPU_INDEX                                a GPU that has fallen off the bus
 *   slice GPU_INDEX NAME                            a slice (MIG) of a GPU
 *
 * For every question about processes one byte is added to a file of the same name with `.asked` behind it: a test can wait until it was asked.
 *
 * The declarations are those that the documentation of NVML gives for the functions used here, written anew.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID = 2, NOT_FOUND = 6, TOO_SMALL = 7, NO_DRIVER = 9, LOST = 15 };
enum { GPUS = 64, PROCESSES = 512, SLICES = 7, SLICE_HANDLES = 1000 };

typedef struct { unsigned version; unsigned long long total, reserved, available, used; } memory_v2;
typedef struct { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; } process_info;

static struct { unsigned long long total, held, reserved; int silent, slices; char slice[SLICES][64]; } gpus[GPUS];
static struct { int gpu; unsigned pid; unsigned long long used; } processes[PROCESSES];
static int gpu_count, process_count;

static void read_script(void) {
    const char *path = getenv("BYSTANDER_STUB_NVML");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[256], name[64];
    gpu_count = process_count = 0;
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        unsigned long long total, held, reserved = 0;
        long long used;
        int gpu;
        unsigned pid;
        if (sscanf(line, "gpu %llu %llu %llu", &total, &held, &reserved) >= 2 && gpu_count < GPUS) {
            gpus[gpu_count].total = total;
            gpus[gpu_count].held = held;
            gpus[gpu_count].reserved = reserved;
            gpus[gpu_count].slices = 0;
            gpus[gpu_count++].silent = 0;
        } else if (sscanf(line, "process %d %u %lld", &gpu, &pid, &used) == 3 && process_count < PROCESSES) {
            processes[process_count].gpu = gpu;
            processes[process_count].pid = pid;
            processes[process_count++].used = (unsigned long long)used;
        } else if (sscanf(line, "silent %d", &gpu) == 1 && gpu >= 0 && gpu < gpu_count) {
            gpus[gpu].silent = 1;
        } else if (sscanf(line, "slice %d %63s", &gpu, name) == 2 && gpu >= 0 && gpu < gpu_count && gpus[gpu].slices < SLICES) {
            strcpy(gpus[gpu].slice[gpus[gpu].slices++], name);
        }
    }
    fclose(file);
}

static int at(void *device) {
    return (int)(long)device - 1;
}

static int check(void *device) {
    read_script();
    if (at(device) < 0 || at(device) >= gpu_count) return INVALID;
    return gpus[at(device)].silent ? LOST : SUCCESS;
}

static void uuid_of(int gpu, char *text, unsigned length) {
    snprintf(text, length, "GPU-%08d-0000-0000-0000-000000000000", gpu);
}

int nvmlInit_v2(void) {
    read_script();
    return gpu_count ? SUCCESS : NO_DRIVER;
}

int nvmlShutdown(void) {
    return SUCCESS;
}

const char *nvmlErrorString(int error) {
    return error ? "an error of the stand-in" : "success";
}

int nvmlSystemGetDriverVersion(char *text, unsigned length) {
    snprintf(text, length, "999.10.01");
    return SUCCESS;
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    read_script();
    *count = (unsigned)gpu_count;
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    read_script();
    if ((int)index >= gpu_count) return INVALID;
    *device = (void *)(long)(index + 1);
    return SUCCESS;
}

int nvmlDeviceGetHandleByUUID(const char *wanted, void **device) {
    char text[80];
    read_script();
    for (int gpu = 0; gpu < gpu_count; gpu++) {
        uuid_of(gpu, text, sizeof text);
        if (strcmp(text, wanted) == 0) {
            *device = (void *)(long)(gpu + 1);
            return SUCCESS;
        }
    }
    return NOT_FOUND;
}

int nvmlDeviceGetIndex(void *device, unsigned *index) {
    int error = check(device);
    if (!error) *index = (unsigned)at(device);
    return error;
}

int nvmlDeviceGetUUID(void *device, char *text, unsigned length) {
    int error = check(device);
    if (!error) uuid_of(at(device), text, length);
    return error;
}

int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending) {
    int error = check(device);
    if (!error) *current = *pending = gpus[at(device)].slices > 0;
    return error;
}

int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count) {
    int error = check(device);
    if (!error) *count = SLICES;
    return error;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **slice) {
    int error = check(device);
    if (error) return error;
    if ((int)index >= gpus[at(device)].slices) return NOT_FOUND;
    *slice = (void *)(long)(SLICE_HANDLES + at(device) * SLICES + (int)index);
    return SUCCESS;
}

int nvmlDeviceGetName(void *device, char *text, unsigned length) {
    int slice = (int)(long)device - SLICE_HANDLES;
    if (slice >= 0 && slice < GPUS * SLICES) {
        read_script();
        snprintf(text, length, "Stand-in MIG %s", gpus[slice / SLICES].slice[slice % SLICES]);
        return SUCCESS;
    }
    int error = check(device);
    if (!error) snprintf(text, length, "Stand-in %d", at(device));
    return error;
}

int nvmlDeviceGetMemoryInfo_v2(void *device, memory_v2 *memory) {
    int error = check(device);
    if (error) return error;
    memory->total = gpus[at(device)].total;
    memory->reserved = gpus[at(device)].reserved;
    memory->used = gpus[at(device)].held;
    memory->available = memory->total - memory->used - memory->reserved;
    return SUCCESS;
}

static void was_asked(void) {
    const char *path = getenv("BYSTANDER_STUB_NVML");
    char name[4096];
    FILE *file;
    if (!path || snprintf(name, sizeof name, "%s.asked", path) >= (int)sizeof name) return;
    file = fopen(name, "a");
    if (!file) return;
    fputc('.', file);
    fclose(file);
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, process_info *found) {
    unsigned room = *count, seen = 0;
    int error = check(device);
    if (error) return error;
    for (int i = 0; i < process_count; i++) {
        if (processes[i].gpu != at(device)) continue;
        if (found && seen < room) {
            found[seen].pid = processes[i].pid;
            found[seen].used = processes[i].used;
            found[seen].gpu_instance = found[seen].compute_instance = 0xffffffffu;
        }
        seen++;
    }
    *count = seen;
    if (found || !seen) was_asked();
    return seen > room ? TOO_SMALL : SUCCESS;
}
