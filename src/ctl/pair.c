/* SPDX-License-Identifier: Apache-2.0 */
#include "pair.h"

#include <string.h>

#include "../base/units.h"

struct shiny_err *pair_open(const struct ctl *ctl, const char *base, const char *new,
			    struct session_pair *out)
{
	const char *const paths[2] = { base, new };
	const struct filter_names names = ctl_names(ctl);
	struct session_pair pair = { 0 };
	struct shiny_err *err = NULL;

	for (int side = 0; !err && side < 2; side++) {
		if (!paths[side])
			continue;
		err = store_open(paths[side], &pair.stores[side]);
		if (!err)
			err = filter_load(pair.stores[side], &names, &pair.filters[side]);
		if (err && base && err->code == SHINY_ERR_USAGE)
			err = shiny_err_where(err, "%s", paths[side]);
	}
	if (err) {
		pair_close(&pair);
		return err;
	}
	*out = pair;
	return NULL;
}

void pair_close(struct session_pair *pair)
{
	for (int side = 0; side < 2; side++) {
		filter_deinit(&pair->filters[side]);
		store_close(pair->stores[side]);
	}
	*pair = (struct session_pair){ 0 };
}

char *pair_change(char *out, pair_units_fn *units, uint64_t base, uint64_t new)
{
	units(out + 1, new >= base ? new - base : base - new);
	if (new == base)
		memmove(out, out + 1, strlen(out + 1) + 1);
	else
		out[0] = new > base ? '+' : '-';
	return out;
}

char *pair_share(char *out, uint64_t base, uint64_t new)
{
	double share;

	out[0] = 0;
	if (base == new || !base)
		return out;
	share = ((double)new - (double)base) / (double)base;
	snprintf(out, UNITS_TEXT, share < 10 ? "%+.1f %%" : "%+.0f %%", share * 100);
	return out;
}
