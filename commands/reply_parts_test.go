package commands

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// joined is what a reply holds, in one piece.
func joined(r *Reply) []byte {
	return append(bytes.Join(r.Parts(), nil), r.Last()...)
}

// A bounded reply holds the same bytes as one that is not, whatever is written,
// rewound and put in between.
func TestRepliesInPartsHoldTheSameBytes(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		plain, parted := NewReply(nil, 3), NewReply(nil, 3)
		parted.Bound(func(int) bool { return true })
		marks := []int{0}
		for step := range 300 {
			b := bytes.Repeat([]byte{byte(step)}, rnd.IntN(1<<rnd.IntN(20)))
			n := rnd.IntN(8)
			for _, r := range []*Reply{&plain, &parted} {
				mark := marks[step%len(marks)]
				switch n {
				case 0:
					r.Int(int64(step))
				case 1, 2:
					r.Bulk(b)
				case 3:
					r.BulkString(string(b))
				case 4:
					r.Raw(b)
				case 5:
					r.Insert(mark, b[:min(len(b), 100)])
				case 6:
					if r.Len() > 3<<20 {
						r.Rewind(mark)
					}
				case 7:
					r.ArrayLater(func() int { r.Bulk(b); r.Int(7); return 2 })
				}
			}
			if plain.Len() != parted.Len() {
				t.Fatalf("seed %d, step %d, operation %d: length %d, want %d", seed, step, n, parted.Len(), plain.Len())
			}
			if len(marks) < 8 {
				marks = append(marks, plain.Len())
			}
			for i, m := range marks {
				marks[i] = min(m, plain.Len())
			}
		}
		if !bytes.Equal(joined(&parted), plain.Encoded()) {
			t.Fatalf("seed %d: the bytes differ", seed)
		}
		mark := rnd.IntN(plain.Len() + 1)
		if !bytes.Equal(parted.After(mark), plain.Encoded()[mark:]) {
			t.Fatalf("seed %d: the bytes after %d differ", seed, mark)
		}
	}
}

// No part is copied to grow, and no more is asked for than there is.
func TestPartsTakeAsMuchMemoryAsTheyAreLong(t *testing.T) {
	asked := 0
	r := NewReply(nil, 2)
	r.Bound(func(size int) bool { asked = size; return true })
	b := make([]byte, 1<<20)
	for range 20 {
		r.Bulk(b)
	}
	if r.Cap() > r.Len()+r.Len()/8 {
		t.Errorf("20 strings of 1 MiB: %d bytes of memory for %d", r.Cap(), r.Len())
	}
	if asked < 20<<20 || asked > 21<<20 {
		t.Errorf("asked for %d bytes, want about 20 MiB", asked)
	}
}

func TestLostReplyHoldsNothing(t *testing.T) {
	r := NewReply(nil, 2)
	r.Bound(func(size int) bool { return size < 1<<20 })
	mark := r.Len()
	for range 1000 {
		mark = r.Len()
		r.Bulk(make([]byte, 10_000))
		r.ArrayLater(func() int { r.Int(1); return 1 })
	}
	r.Rewind(mark)
	r.Insert(mark, []byte("x"))
	if !r.Lost() || r.Cap() > 1000 {
		t.Errorf("lost: %v with %d bytes, want a reply that is lost and empty", r.Lost(), r.Cap())
	}
}
