package structures

import "encoding/binary"

// Which pages there are of an array that is zeros for the most part is told by groups of 64 pages side by side:
//
//	groups up to the last one with a page (uvarint) | for each of them: 0: none, 1: all its pages, 2 | mask (8): those of
//	    which a bit is set
//
// These numbers are on disk and never change.
const (
	presenceNone  = 0
	presenceAll   = 1
	presenceMixed = 2
)

// PresenceGroup is how many pages a group of AppendPresence has.
const PresenceGroup = 64

// AppendPresence appends which of some pages there are. Bit i of mask(g) says that there is page 64*g+i. groups bounds the
// groups that have any.
func AppendPresence(dst []byte, pages uint64, groups int, mask func(group int) uint64) []byte {
	for groups > 0 && mask(groups-1) == 0 {
		groups--
	}
	dst = binary.AppendUvarint(dst, uint64(groups))
	for g := range groups {
		switch m := mask(g); m {
		case 0:
			dst = append(dst, presenceNone)
		case wholeGroup(pages, g):
			dst = append(dst, presenceAll)
		default:
			dst = binary.LittleEndian.AppendUint64(append(dst, presenceMixed), m)
		}
	}
	return dst
}

// wholeGroup is the mask of all of some pages that are in a group.
func wholeGroup(pages uint64, group int) uint64 {
	if left := pages - uint64(group)*PresenceGroup; left < PresenceGroup {
		return 1<<left - 1
	}
	return 1<<PresenceGroup - 1
}

// Presence reads what AppendPresence appended for so many pages, and visits each group that has any. r.Bad says that
// this is not what AppendPresence appends.
func Presence(r *Reader, pages uint64, visit func(group int, mask uint64)) {
	groups := r.Uint(uint64(len(r.B)))
	if groups > (pages+PresenceGroup-1)/PresenceGroup {
		r.Bad = true
	}
	for g := 0; uint64(g) < groups && !r.Bad; g++ {
		whole := wholeGroup(pages, g)
		mask := uint64(0)
		switch r.Uint(presenceMixed) {
		case presenceAll:
			mask = whole
		case presenceMixed:
			if b := r.Bytes(8); b != nil {
				mask = binary.LittleEndian.Uint64(b)
			}
			r.Bad = r.Bad || mask == 0 || mask&^whole != 0
		}
		if mask != 0 && !r.Bad {
			visit(g, mask)
		}
	}
}
