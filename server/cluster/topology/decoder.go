package topology

import (
	"encoding/binary"
	"fmt"

	"github.com/vigildb/vigil/persistence/grouplog"
	"github.com/vigildb/vigil/structures/slots"
)

// ErrDecode is returned for bytes that are no form of this package, or of one that has forms of it.
var ErrDecode = fmt.Errorf("members do not decode: %w", grouplog.ErrCorrupt)

// Decoder reads what comes from a disk or another server, piece by piece. The first error is kept: from then on there are only zeros.
type Decoder struct {
	Rest []byte // what is not read yet
	Err  error
}

// Number reads an uvarint.
func (d *Decoder) Number() uint64 {
	n, k := binary.Uvarint(d.Rest)
	if k <= 0 {
		d.Rest, d.Err = nil, ErrDecode
		return 0
	}
	d.Rest = d.Rest[k:]
	return n
}

// Bytes reads n bytes, which are those of Rest.
func (d *Decoder) Bytes(n uint64) []byte {
	if n > uint64(len(d.Rest)) {
		d.Rest, d.Err = nil, ErrDecode
		return nil
	}
	b := d.Rest[:n]
	d.Rest = d.Rest[n:]
	return b
}

// Text reads a text of AppendText that has no more bytes than most.
func (d *Decoder) Text(most uint64) string {
	n := d.Number()
	if n > most {
		d.Rest, d.Err = nil, errTable
		return ""
	}
	return string(d.Bytes(n))
}

// AppendText appends a text with its length in front.
func AppendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func (d *Decoder) slots() *slots.Set {
	if d.Err != nil {
		return nil
	}
	set, rest, err := slots.Decode(d.Rest)
	if d.Rest = rest; err != nil {
		d.Err = ErrDecode
	}
	return set
}
