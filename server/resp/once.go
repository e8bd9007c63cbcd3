package resp

import "github.com/tidwall/redcon"

// atOnce lets redcon read the array at the start of b before it is proven good. That is
// for the usual case, a complete command as clients write it, whose headers are read only
// once then. It returns a size of 0 for everything else, which [Framer.array] is to judge:
// what is incomplete or wrong, where redcon panics in places, and what redcon takes and
// Redis does not.
//
// A header with a sign, a leading zero or more digits than an int holds is longer than
// the one that would be written for the number that redcon read, so that the sizes of
// what was read and of what would be written differ.
func atOnce(b []byte, args [][]byte) (argv [][]byte, size int) {
	defer func() {
		if recover() != nil { // an index out of range, of a length below 0
			argv, size = nil, 0
		}
	}()
	complete, argv, _, rest, err := redcon.ReadNextCommand(b, args)
	if err != nil || !complete || len(argv) == 0 {
		return nil, 0
	}
	written := headerSize(len(argv))
	for _, a := range argv {
		written += headerSize(len(a)) + len(a) + len("\r\n")
	}
	if size = len(b) - len(rest); size != written {
		return nil, 0
	}
	return argv, size
}

// headerSize is the size of a header, "*12\r\n" or "$12\r\n".
func headerSize(n int) int {
	size := len("$0\r\n")
	for ; n >= 10; n /= 10 {
		size++
	}
	return size
}
