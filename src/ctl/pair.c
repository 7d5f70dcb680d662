/* SPDX-License-Identifier: Apache-2.0 */
#include "pair.h"

#include <string.h>

#include "../base/cleanup.h"
#include "../base/units.h"

struct shiny_err *pair_open(const struct ctl *ctl, const char *base, const char *new,
			    struct session_pair *out)
{
	const struct filter_names names = ctl_names(ctl);
	struct session_pair pair = { .paths = { base, new } };
	struct shiny_err *err = NULL;

	for (int side = 0; !err && side < 2; side++) {
		if (!pair.paths[side])
			continue;
		err = store_open(pair.paths[side], &pair.stores[side]);
		if (!err)
			err = filter_load(pair.stores[side], &names, &pair.filters[side]);
		if (err && base && err->code == SHINY_ERR_USAGE)
			err = shiny_err_where(err, "%s", pair.paths[side]);
	}
	if (err)
		pair_close(&pair);
	*out = pair;
	return err;
}

struct shiny_err *pair_losses(struct ctl *ctl, struct session_pair *pair)
{
	for (int side = 0; side < 2; side++)
		if (pair->stores[side])
			SHINY_TRY(ctl_losses_load(ctl, pair->stores[side], pair->paths[side],
						  &pair->losses[side]));
	return NULL;
}

void pair_close(struct session_pair *pair)
{
	for (int side = 0; side < 2; side++) {
		filter_deinit(&pair->filters[side]);
		store_close(pair->stores[side]);
		losses_deinit(&pair->losses[side]);
	}
	*pair = (struct session_pair){ .paths = { pair->paths[0], pair->paths[1] } };
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
