package place

import (
	"errors"
	"strings"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/placement"
)

// Errors that only this family returns, word for word as clients see them.
const (
	errUnit       = commands.WireError("ERR no such unit")
	errTwice      = commands.WireError("ERR a unit is named twice")
	errLast       = commands.WireError("ERR the last unit cannot be removed")
	errName       = commands.WireError("ERR the name of a unit or domain must have 1 to 512 bytes")
	errCapacity   = commands.WireError("ERR capacity must be a number from 1e-9 to 1e15")
	errRatio      = commands.WireError("ERR capacity differs too much from the capacities of the other units")
	errUniform    = commands.WireError("ERR the strategy needs equal capacities")
	errLimit      = commands.WireError("ERR the map would have more units, or a larger table, than its strategy allows")
	errEmpty      = commands.WireError("ERR the map has no units")
	errCopies     = commands.WireError("ERR the map has fewer units in different domains than COPIES asks for")
	errCopyCount  = commands.WireError("ERR COPIES must be from 1 to 64")
	errStretch    = commands.WireError("ERR STRETCH must be from 2^-16 to 64")
	errPoints     = commands.WireError("ERR POINTS must be from 1 to 4096")
	errSlots      = commands.WireError("ERR SLOTS must be from 1 to 1048576")
	errSpread     = commands.WireError("ERR SPREAD must be from 1 to 64")
	errScatter    = commands.WireError("ERR SCATTER must be from 1 to 64")
	errBound      = commands.WireError("ERR BOUND must be from 0.001 to 1000")
	errNoBound    = commands.WireError("ERR the map was created without BOUND")
	errObjects    = commands.WireError("ERR the map would have more than 1048576 assigned objects")
	errSets       = commands.WireError("ERR SCATTER and strategy copysets need each other, COPIES of 2 or more, and no SPREAD or BOUND")
	errOptions    = commands.WireError("ERR STRETCH times POINTS is too large")
	errImport     = commands.WireError("ERR data is not an exported map")
	errPairs      = commands.WireError("ERR the preview is too long: the change could have more than 1048576 pairs of units")
	errPairsMulti = commands.WireError("ERR the preview is too long inside a transaction: the change could have more than 65536 pairs of units")
	errTableMulti = commands.WireError("ERR the map is too large to compute with inside a transaction")
	errStepsMulti = commands.WireError("ERR too many objects for the number of units inside a transaction")
)

// errStrategy lists the strategies.
func errStrategy(name string) commands.WireError {
	var known []string
	for _, s := range placement.Strategies() {
		known = append(known, s.Name)
	}
	return commands.Errorf("ERR unknown strategy '%.64s', available: %s", name, strings.Join(known, ", "))
}

// wireErrors translates the errors of package placement. Handlers check
// decimals themselves, so ErrCapacity is about a capacity relative to the
// others.
var wireErrors = [...]struct{ err, text error }{
	{placement.ErrUnit, errUnit}, {placement.ErrDuplicate, errTwice}, {placement.ErrLast, errLast},
	{placement.ErrName, errName}, {placement.ErrCapacity, errRatio}, {placement.ErrUniform, errUniform},
	{placement.ErrLimit, errLimit}, {placement.ErrEmpty, errEmpty}, {placement.ErrCopies, errCopies},
	{placement.ErrCorrupt, errImport}, {placement.ErrOption, errOptions},
	{placement.ErrPreview, errPairs}, {placement.ErrBound, errNoBound}, {placement.ErrObjects, errObjects},
}

// optionError says what is wrong with options that are in their ranges one by one.
func optionError(o placement.Options) error {
	if o.Scatter > 0 || o.Strategy == "copysets" {
		return errSets
	}
	return errOptions
}

func wireError(err error) error {
	for _, e := range wireErrors {
		if errors.Is(err, e.err) {
			return e.text
		}
	}
	return err
}
