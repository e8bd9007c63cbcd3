// Package bits does the bit arithmetic on strings: bits counted, searched, combined,
// and the integers of any width that BITFIELD reads and writes. Bits are numbered as
// Redis numbers them: bit 0 is the highest bit of byte 0.
package bits
