-- Whether a job was taken from a group: 0 no, 1 yes, 2 yes, of a queue without limits of groups. An index finds the first of
-- them: a queue whose groups have no limits doesn't need to count their leases, and an entry of the index per lease would take
-- a twentieth of its throughput. The new name also stops processes of earlier versions, which would overlook the second.
ALTER TABLE lease RENAME COLUMN grouped TO from_group;
