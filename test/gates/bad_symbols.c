/* SPDX-License-Identifier: Apache-2.0 */
/* What scripts/check-symbols must reject: a foreign export, an import that is not listed, and the wrong TLS model. */
#include <stdlib.h>

__thread int bad_variable;

int bad_export(void)
{
	if (!bad_variable++)
		abort();
	return bad_variable;
}
