# SPDX-License-Identifier: Apache-2.0
# For the jobs: waits for a condition of the shell's own, without a program such as sleep: how many a job starts must not depend on time.
exec 9<> <(:)
wait_for() { until eval "$1"; do read -rt 0.02 -u 9; done; }
