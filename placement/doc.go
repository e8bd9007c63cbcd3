// Package placement decides where things live: it maps objects to units
// (servers, disks, shards) of equal or different capacity, such that each unit
// gets its share and few objects move when units come, go or change.
//
// It implements the strategies of C. Scheideler's lecture notes on distributed
// data management ("Hashing"; theorems 8.1 to 8.11), one of its own that is the
// default (sieve-abs), and four well-known peers. Each has a file whose head
// states the model, the theorem, the guarantee, the cost, and what the notes
// leave open.
//
// # Model
//
// An object's key is hashed once to h, uniform in [0, 2^64). Unit i of n has
// capacity w_i, an integer, and share c_i = w_i / sum w. A strategy is a
// function of h and of its state.
//
//   - It is faithful if a random object is on unit i with probability c_i.
//   - When capacities change from c to c', a perfectly faithful strategy must
//     move at least the sum of c_i - c'_i over all i with c_i > c'_i: the
//     optimum. A strategy that moves at most r times as much over any sequence
//     of changes is r-competitive.
//
// # The one idea
//
// A lookup is integer arithmetic on a frozen hash and a table, and the table is
// a function of the changes made. So equal histories give equal answers on
// every machine, in every process, and what a change would move is computed
// from two tables, without looking at one object.
//
// # Parts
//
// Strategy is the interface of all strategies, which know units as numbers;
// Strategies lists them. Map gives units names, capacities as decimals, and
// failure domains, changes several at once or not at all, and encodes itself.
// Map.LocateCopies places several copies on different domains, and
// Map.PreviewSet and Map.PreviewRemove tell what a change would move.
//
//	m, err := placement.NewMap(placement.Options{})
//	err = m.Set(placement.Unit{Name: "a", Capacity: 1}, placement.Unit{Name: "b", Capacity: 2})
//	name := m.Name(m.Locate(m.Hash(key)))
//
// # Promises
//
// Locate does not allocate and uses no floating point. Where tables are built
// with floating point, only operations that every machine rounds alike are
// used. A failed change changes nothing. Decode refuses what AppendBinary
// cannot have written, and never panics.
//
// The package moves no objects, knows no network, reads no clock and no random
// numbers, and does not protect against keys chosen to collide.
package placement
