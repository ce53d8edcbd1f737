-- One question.
SELECT *
FROM interactions
WHERE interaction_id = :interaction_id
