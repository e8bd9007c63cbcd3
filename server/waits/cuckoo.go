package waits

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"strconv"
)

// loaded makes a cuckoo filter of two sub-filters, together of at most n bytes, a third of which are in use. It says that it has
// few items, so that the next deletion moves fingerprints.
func loaded(key string) func(*Client, int) {
	return func(c *Client, n int) {
		const filters, bucketSize, iterations, expansion, items = 2, 2, 20, 1, 8
		size := 1 << (bits.Len(uint(n/filters)) - 1)
		header := binary.LittleEndian.AppendUint64(nil, items)
		for _, v := range [...]uint64{uint64(size) / bucketSize, 0, filters} {
			header = binary.LittleEndian.AppendUint64(header, v)
		}
		for _, v := range [...]uint16{bucketSize, iterations, expansion} {
			header = binary.LittleEndian.AppendUint16(header, v)
		}
		c.Do("CF.LOADCHUNK", key, "1", string(header))
		r := rand.New(rand.NewPCG(1, 2))
		chunk := make([]byte, min(size, 1<<20))
		for end := len(chunk); end <= filters*size; end += len(chunk) {
			for i := range chunk {
				chunk[i] = byte(r.IntN(256)) * byte(r.IntN(3)/2)
			}
			c.Do("CF.LOADCHUNK", key, strconv.Itoa(1+end), string(chunk))
		}
	}
}
