package hll

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/hyll"
)

func pfdebug(c *commands.Ctx) error {
	what, key := c.Args.String(), c.Args.Key()
	if err := c.Args.Done(); err != nil {
		return err
	}
	value, ok, err := find(c, key)
	if err != nil {
		return err
	}
	if !ok {
		return errNoKey
	}
	switch strings.ToUpper(what) {
	case "GETREG":
		return replyRegisters(c, key, value)
	case "DECODE":
		text, err := hyll.Decode(value)
		c.Reply.BulkString(text)
		return wireError(err)
	case "ENCODING":
		name, err := hyll.Encoding(value)
		c.Reply.Status(name)
		return wireError(err)
	case "TODENSE":
		changed, err := makeDense(c, key, value)
		c.Reply.IntBool(changed)
		return err
	}
	return errDebug(what)
}

func makeDense(c *commands.Ctx, key, value []byte) (changed bool, err error) {
	dense, changed, err := hyll.ToDense(value)
	if err != nil {
		return false, wireError(err)
	}
	if changed {
		c.Tx.SetString(key, dense, persistence.KeepExpiry)
	}
	return changed, nil
}

// replyRegisters writes all registers. It leaves the value dense, as Redis does.
func replyRegisters(c *commands.Ctx, key, value []byte) error {
	regs, err := hyll.Registers(value)
	if err != nil {
		return wireError(err)
	}
	if _, err := makeDense(c, key, value); err != nil {
		return err
	}
	c.Reply.Array(len(regs))
	for _, r := range regs {
		c.Reply.Int(int64(r))
	}
	return nil
}

const (
	selfTestElements = 100_000
	// selfTestSigmas is how many standard errors an estimate may be off; less
	// than one run in ten million fails by chance.
	selfTestSigmas = 6
	registers      = 16384
)

// pfselftest adds elements to a sparse and to a dense HyperLogLog and compares
// their counts with each other and with the truth, at powers of ten.
func pfselftest(c *commands.Ctx) error {
	if err := c.Args.Done(); err != nil {
		return err
	}
	sparse := hyll.New()
	dense, _, err := hyll.ToDense(hyll.New())
	if err != nil {
		return err
	}
	seed, checkpoint := uint64(c.Host.Random(math.MaxInt32)), 1
	var elem [8]byte
	for i := 1; i <= selfTestElements; i++ {
		binary.LittleEndian.PutUint64(elem[:], uint64(i)^seed<<32)
		if err := selfTestAdd(&sparse, &dense, elem[:], c.Host.Limits().HLLSparseMax); err != nil {
			return err
		}
		if i == checkpoint {
			if err := selfTestCompare(sparse, dense, i); err != nil {
				return err
			}
			checkpoint *= 10
		}
	}
	c.Reply.OK()
	return nil
}

func selfTestAdd(sparse, dense *[]byte, elem []byte, sparseMax int) error {
	var t hyll.Touched
	var errS, errD error
	*sparse, _, errS = hyll.Add(*sparse, elem, sparseMax, &t)
	*dense, _, errD = hyll.Add(*dense, elem, sparseMax, &t)
	if err := errors.Join(errS, errD); err != nil {
		return errSelfTest(err.Error())
	}
	return nil
}

func selfTestCompare(sparse, dense []byte, truth int) error {
	var t hyll.Touched
	a, errA := hyll.Count(append([]byte(nil), sparse...), &t)
	b, errB := hyll.Count(append([]byte(nil), dense...), &t)
	if errA != nil || errB != nil || a != b {
		return errSelfTest("dense/sparse disagree")
	}
	allowed := math.Ceil(1.04 / math.Sqrt(registers) * selfTestSigmas * float64(truth))
	if math.Abs(float64(a)-float64(truth)) > allowed {
		return errSelfTest("Too big error.")
	}
	return nil
}
