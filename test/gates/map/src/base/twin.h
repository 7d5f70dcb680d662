/* Declares what a room above defines. */
int twin_above(void);
