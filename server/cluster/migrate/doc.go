// Package migrate is what a server does about the slots of its group: the group claims some when it begins and when it is told to,
// buries groups that are lost (ADR 0073), and moves slots to other groups and from them ([Slots]).
//
// Slots go to another group with their keys. The keys are copied first, into the log of the group that
// gets them, where no client sees them. Then three entries of the two logs decide, in this order:
//
//  1. the log of the group that gets them says that all keys of an attempt are there (topology.MoveComplete);
//  2. the log of the group that has them gives the slots away to the other one, as that attempt;
//  3. the log of the other one claims them.
//
// Up to the second one nothing has changed, and from then on the move is certain: whoever leads the two groups
// goes on with it. A slot is never claimed by both, as each assignment is in one log, and the third entry is made only by
// those that know of the second. ADR 0071.
//
// Nothing here is kept but by the group, which agrees on its assignment ([Group]); what other groups say is in a topology.Cluster. The
// next assignment is made in a turn of raft, which takes the mutex of the cluster: so neither that nor Slots.mu is held while a turn is waited
// for, as Group.Agree, Leading and Settled do.
package migrate
