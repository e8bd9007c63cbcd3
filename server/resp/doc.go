// Package resp turns the bytes of a connection into commands.
//
// The one idea: nothing is taken for a command that was not proven to be one within the
// limits. The proof of a complete command as clients write it is that redcon's
// ReadNextCommand reads it, and that what it read would be written with as many bytes.
// For the rest, redcon trusts its input too much: a [Framer] walks through the headers by
// itself, from where it stopped, and gives redcon what is complete: lengths that overflow,
// endless counts and requests that trickle in cost and do nothing there.
//
// It promises: no input or output, no allocation for a command when the
// caller's slice is reused, no byte scanned more than twice however the input is cut into
// reads, and the replies of Redis 7.0 to malformed input, word for word (see
// the table in the test). Commands that arrived before a protocol error are
// still returned.
//
// It does not hold the bytes: the caller owns the buffer, and the arguments
// point into it. Nor does it enforce client-query-buffer-limit, which is a
// comparison of the buffer's length; [Framer.Room] returns how far to grow it.
//
// Known differences from Redis 7.0, all in input that no client sends:
//   - Redis looks for the end of a line with strchr and so waits forever, or
//     for 64 KiB, if a line has a zero byte in it. Here a zero byte is an
//     ordinary character: an argument may hold it, a length may not.
//   - A line of more than 64 KiB that arrives whole passes Redis if it comes in
//     one read. Here it always fails, so that the reply does not depend on how
//     the network cut the stream.
package resp
