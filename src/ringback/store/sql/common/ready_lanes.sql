-- Lanes in which a run is ready, each once. A plain DISTINCT would walk every ready run; this skips from lane to lane: to the
-- next lane of the same project, or else to the first of the next project. (One comparison of pairs would walk a lane's backlog.)
WITH RECURSIVE lanes (project_id, lane) AS (
    SELECT project_id, lane
    FROM (SELECT project_id, lane FROM runs WHERE ready_at IS NOT NULL ORDER BY project_id, lane LIMIT 1) AS first_lane
    UNION ALL
    SELECT following.project_id, following.lane
    FROM lanes
    JOIN runs AS following ON following.run_id = COALESCE(
        (
            SELECT run_id
            FROM runs
            WHERE ready_at IS NOT NULL
              AND project_id = lanes.project_id
              AND lane > lanes.lane
            ORDER BY lane
            LIMIT 1
        ),
        (
            SELECT run_id
            FROM runs
            WHERE ready_at IS NOT NULL
              AND project_id > lanes.project_id
            ORDER BY project_id, lane
            LIMIT 1
        )
    )
)
SELECT project_id, lane
FROM lanes
