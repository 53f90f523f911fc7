-- reprice_catalogue: the catalogue by which all open requests are rated
SELECT catalogue_id
FROM progress
