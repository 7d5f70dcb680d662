/* Shares its name and its tag with ../base/twin.c; has a long line, a long function, and too many lines. */
struct twin_tag {
	int number;
};

int twin(void);

int twin(void)
{
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	;
	return 0;
}
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */
/* a line */

int twin_above(void)
{
	return 0;
}
