package commands

import (
	"errors"
	"strings"

	"github.com/vigildb/vigil/placement"
)

// What a client can be told of placement maps.
const (
	ErrPlaceUnit       = WireError("ERR no such unit")
	ErrPlaceTwice      = WireError("ERR a unit is named twice")
	ErrPlaceLast       = WireError("ERR the last unit cannot be removed")
	ErrPlaceName       = WireError("ERR the name of a unit or domain must have 1 to 512 bytes")
	ErrPlaceCapacity   = WireError("ERR capacity must be a number from 1e-9 to 1e15")
	ErrPlaceRatio      = WireError("ERR capacity is too far from those of the other units")
	ErrPlaceUniform    = WireError("ERR the strategy needs equal capacities")
	ErrPlaceLimit      = WireError("ERR the map would have more units, or a larger table, than its strategy allows")
	ErrPlaceEmpty      = WireError("ERR the map has no units")
	ErrPlaceCopies     = WireError("ERR more copies than units in different domains")
	ErrPlaceCopyCount  = WireError("ERR COPIES must be from 1 to 64")
	ErrPlaceStretch    = WireError("ERR STRETCH must be from 2^-16 to 64")
	ErrPlacePoints     = WireError("ERR POINTS must be from 1 to 4096")
	ErrPlaceSlots      = WireError("ERR SLOTS must be from 1 to 1048576")
	ErrPlaceOptions    = WireError("ERR STRETCH times POINTS is too large")
	ErrPlaceImport     = WireError("ERR data is not an exported map")
	ErrPlacePairs      = WireError("ERR the preview is too long: the change could have more than 1048576 pairs of units")
	ErrPlacePairsMulti = WireError("ERR the preview is too long inside a transaction: the change could have more than 65536 pairs of units")
	ErrPlaceTableMulti = WireError("ERR the map is too large to compute with inside a transaction")
	ErrPlaceStepsMulti = WireError("ERR too many objects to race between the units inside a transaction")
)

// ErrPlaceStrategy lists the strategies.
func ErrPlaceStrategy(name string) WireError {
	var known []string
	for _, s := range placement.Strategies() {
		known = append(known, s.Name)
	}
	return wiref("ERR unknown strategy '%.64s', known are: %s", name, strings.Join(known, ", "))
}

// placeErrors words what package placement says. Handlers check decimals
// themselves, so ErrCapacity tells of a capacity beside others.
var placeErrors = [...]struct{ err, text error }{
	{placement.ErrUnit, ErrPlaceUnit}, {placement.ErrDuplicate, ErrPlaceTwice}, {placement.ErrLast, ErrPlaceLast},
	{placement.ErrName, ErrPlaceName}, {placement.ErrCapacity, ErrPlaceRatio}, {placement.ErrUniform, ErrPlaceUniform},
	{placement.ErrLimit, ErrPlaceLimit}, {placement.ErrEmpty, ErrPlaceEmpty}, {placement.ErrCopies, ErrPlaceCopies},
	{placement.ErrCorrupt, ErrPlaceImport}, {placement.ErrOption, ErrPlaceOptions},
	{placement.ErrPreview, ErrPlacePairs},
}

func placeError(err error) error {
	for _, e := range placeErrors {
		if errors.Is(err, e.err) {
			return e.text
		}
	}
	return err
}
