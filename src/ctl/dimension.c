/* SPDX-License-Identifier: Apache-2.0 */
#include "dimension.h"

/* Defines a function that finds a dimension in a table of an analysis' enumerators. */
#define BY_ANALYSIS(function, type, ...)                           \
	type function(enum dimension by)                           \
	{                                                          \
		static const type names[DIMENSIONS] = __VA_ARGS__; \
                                                                   \
		return names[by];                                  \
	}

/* clang-format off */
BY_ANALYSIS(dimension_group, enum group_by,
	    { [BY_TYPE] = GROUP_TYPE, [BY_SITE] = GROUP_SITE, [BY_COMPONENT] = GROUP_COMPONENT,
	      [BY_TAG] = GROUP_TAG })
BY_ANALYSIS(dimension_breakdown, enum breakdown_by,
	    { [BY_TYPE] = BREAKDOWN_TYPE, [BY_SITE] = BREAKDOWN_SITE,
	      [BY_COMPONENT] = BREAKDOWN_COMPONENT, [BY_ROLE] = BREAKDOWN_ROLE })
BY_ANALYSIS(dimension_sites, enum sites_by,
	    { [BY_LINE] = SITES_BY_LINE, [BY_FUNCTION] = SITES_BY_FUNCTION,
	      [BY_FILE] = SITES_BY_FILE, [BY_MODULE] = SITES_BY_MODULE, [BY_TAG] = SITES_BY_TAG })
BY_ANALYSIS(dimension_types, enum types_by,
	    { [BY_BLOCK] = TYPES_BY_BLOCK, [BY_TYPE] = TYPES_BY_TYPE,
	      [BY_CONTAINER] = TYPES_BY_CONTAINER, [BY_RULE] = TYPES_BY_RULE,
	      [BY_CONFIDENCE] = TYPES_BY_CONFIDENCE, [BY_MODULE] = TYPES_BY_MODULE })
BY_ANALYSIS(dimension_retained, enum retained_by,
	    { [BY_TYPE] = RETAINED_BY_TYPE, [BY_SITE] = RETAINED_BY_SITE,
	      [BY_MEMBER] = RETAINED_BY_MEMBER, [BY_COMPONENT] = RETAINED_BY_COMPONENT,
	      [BY_ROOT] = RETAINED_BY_ROOT })
/* clang-format on */
