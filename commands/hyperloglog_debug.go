package commands

import (
	"encoding/binary"
	"math"
	"strings"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures"
)

func pfdebug(c *Ctx) error {
	what, key := c.Args.String(), c.Args.Key()
	if err := c.Args.Done(); err != nil {
		return err
	}
	value, ok, err := hllString(c, key)
	if err != nil {
		return err
	}
	if !ok {
		return ErrNoHLLKey
	}
	switch strings.ToUpper(what) {
	case "GETREG":
		return pfGetReg(c, key, value)
	case "DECODE":
		text, err := structures.HYLLDecode(value)
		if err != nil {
			return hllError(err)
		}
		c.Reply.BulkString(text)
	case "ENCODING":
		name, err := structures.HYLLEncoding(value)
		if err != nil {
			return hllError(err)
		}
		c.Reply.Status(name)
	case "TODENSE":
		changed, err := hllMakeDense(c, key, value)
		if err != nil {
			return err
		}
		var n int64
		if changed {
			n = 1
		}
		c.Reply.Int(n)
	default:
		return ErrPFDebug(what)
	}
	return nil
}

func hllMakeDense(c *Ctx, key, value []byte) (changed bool, err error) {
	dense, changed, err := structures.HYLLToDense(value)
	if err != nil {
		return false, hllError(err)
	}
	if changed {
		c.Tx.SetString(key, dense, persistence.KeepExpiry)
	}
	return changed, nil
}

// pfGetReg answers all registers. It leaves the value dense, as Redis does.
func pfGetReg(c *Ctx, key, value []byte) error {
	regs, err := structures.HYLLRegisters(value)
	if err != nil {
		return hllError(err)
	}
	if _, err := hllMakeDense(c, key, value); err != nil {
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
	hllRegisters   = 16384
)

// pfselftest adds elements to a sparse and to a dense HyperLogLog and compares
// their counts with each other and with the truth, at powers of ten.
func pfselftest(c *Ctx) error {
	if err := c.Args.Done(); err != nil {
		return err
	}
	sparseMax := c.Host.Limits().HLLSparseMax
	sparse := structures.NewHYLL()
	dense, _, err := structures.HYLLToDense(structures.NewHYLL())
	if err != nil {
		return err
	}
	seed := uint64(c.Host.Random(math.MaxInt32))
	checkpoint := 1
	var elem [8]byte
	var t structures.Touched
	for i := 1; i <= selfTestElements; i++ {
		binary.LittleEndian.PutUint64(elem[:], uint64(i)^seed<<32)
		if sparse, _, err = structures.HYLLAdd(sparse, elem[:], sparseMax, &t); err != nil {
			return ErrSelfTest(err.Error())
		}
		if dense, _, err = structures.HYLLAdd(dense, elem[:], sparseMax, &t); err != nil {
			return ErrSelfTest(err.Error())
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

func selfTestCompare(sparse, dense []byte, truth int) error {
	var t structures.Touched
	a, errA := structures.HYLLCount(append([]byte(nil), sparse...), &t)
	b, errB := structures.HYLLCount(append([]byte(nil), dense...), &t)
	if errA != nil || errB != nil || a != b {
		return ErrSelfTest("dense/sparse disagree")
	}
	allowed := math.Ceil(1.04 / math.Sqrt(hllRegisters) * selfTestSigmas * float64(truth))
	if math.Abs(float64(a)-float64(truth)) > allowed {
		return ErrSelfTest("Too big error.")
	}
	return nil
}
