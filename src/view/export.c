/* SPDX-License-Identifier: Apache-2.0 */
#include "export.h"

const struct export_form export_forms[EXPORT_FORMS] = {
	{ .name = "folded", .profile = true, .measure = true, .write = export_folded },
	{ .name = "pprof", .profile = true, .binary = true, .write = export_pprof },
	{ .name = "speedscope", .profile = true, .peak = true, .write = export_speedscope },
	{ .name = "dhat", .profile = true, .peak = true, .write = export_dhat },
	{ .name = "massif", .profile = true, .peak = true, .write = export_massif },
	{ .name = "heaptrack", .profile = true, .each = true, .write = export_heaptrack },
	{ .name = "callgrind", .profile = true, .write = export_callgrind },
	{ .name = "firefox", .profile = true, .write = export_firefox },
	{ .name = "trace", .profile = true, .write = export_trace },
	{ .name = "dot", .measure = true, .tree = true, .write = export_dot },
	{ .name = "csv", .table = true, .write = export_csv },
	{ .name = "jsonl", .table = true, .write = export_jsonl },
};
