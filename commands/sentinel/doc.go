// Package sentinel has the commands by which clients of Redis Sentinel find the master of
// a group, and follow it when another member leads. Every member has them: clients
// list the members where they would list Sentinels. A server that is alone is to them a
// Sentinel that watches no master.
//
// Beside these commands clients subscribe to the channel +switch-master, in which each
// member publishes that another one leads. What configures a Sentinel is not here: the
// group elects its leader by itself.
package sentinel
