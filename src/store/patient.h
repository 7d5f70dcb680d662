/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patient.h: repeats writes that the disk refuses (full, over quota, an I/O error), as long as the
 * writer wants (store_be_patient).
 *
 * Runs: sidecar. Signals: no. Allocates: nothing. Threads: one writes.
 *
 * SQLite rolls a transaction back when one of its writes fails: the rows since the last commit are
 * lost, and cannot be committed once there is space again. So the system call itself is repeated,
 * beneath SQLite, which then never sees the failure.
 */
#ifndef SHINY_PATIENT_H
#define SHINY_PATIENT_H

#include <sys/types.h>

ssize_t patient_pwrite(int fd, const void *data, size_t bytes, off_t at);
/* Returns the errno of the last failed write; 0: none has failed. SQLite does not tell it. */
int patient_error(void);
/* Makes SQLite's own system calls patient from now on. */
void patient_begin(void);

#endif
