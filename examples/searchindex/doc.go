// Searchindex keeps an index of words beside a server, from its changes.
//
// Documents are hashes whose keys begin with a prefix, with the fields title and text. The index never polls them: it
// begins with a scan, and then reads the changes behind the position that it took before the scan (VIGIL.CHANGES, docs/changes.md).
// A change is only taken as a hint that a key has to be read again, so it does no harm to get one twice. When the position is gone, as
// after a restart of the server, another index is built by a scan and takes the place of the old one, which is searched until then.
package main
