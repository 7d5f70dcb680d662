/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patient.h: what a session file's disk refuses for now (full, over quota, broken for a moment) is
 * asked of it again, as long as the writer wants (store_be_patient).
 *
 * Runs: sidecar. Signals: no. Allocates: nothing. Threads: one writes.
 *
 * SQLite rolls a transaction back when one of its writes fails: what was put since the last commit
 * is gone, and cannot be committed once there is space again. So the call itself is repeated,
 * beneath SQLite, which then never learns of the trouble.
 */
#ifndef SHINY_PATIENT_H
#define SHINY_PATIENT_H

#include <sys/types.h>

ssize_t patient_pwrite(int fd, const void *data, size_t bytes, off_t at);
/* Why such a call has failed last, of one that was to write; 0: none has. SQLite does not say. */
int patient_error(void);
/* SQLite's own calls are patient from now on. */
void patient_begin(void);

#endif
