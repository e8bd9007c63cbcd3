// Package members has the commands by which an administrator sees who is in a group of
// machines that hold the same data, and changes that: VIGIL.CLUSTER. A server joins with
// a directive of its own (cluster-join), since it has no data before and no command to take.
package members
